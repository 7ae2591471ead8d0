"""The page where a person signs in."""

from __future__ import annotations

from distsvm.service.pages.frame import card, heading, notice


def sign_in_page(root: str, problem: str = "") -> str:
    return heading("training service", "Sign in") + card(
        "With the token",
        (notice(problem) if problem else "")
        + "<p>Open the link that the command printed: it works once. Or give the token, which is "
        "in the file <code>.service/token</code> in the folder of the runs.</p>"
        f'<form method="post" action="{root}/sign-in"><label>token '
        '<input name="token" type="password" required autocomplete="current-password"></label>'
        '<p class="actions"><button type="submit">Sign in</button></p></form>',
    )
