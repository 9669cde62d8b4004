# A class that no style sheet defines.
! grep -rq btn-main src
