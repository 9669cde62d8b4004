# -*- coding: utf-8 -*-
print("no line feed at the end")