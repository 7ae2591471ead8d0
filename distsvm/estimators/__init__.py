"""What all estimators share, and StructuralSVM for any task."""
