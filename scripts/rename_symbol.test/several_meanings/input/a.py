def f(size):
    return size


def g(items):
    size = len(items)
    return f(size)
