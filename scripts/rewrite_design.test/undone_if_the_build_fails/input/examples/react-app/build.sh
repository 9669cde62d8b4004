# A class that no style sheet defines.
! grep -rq card-footer src
