def console(get_response):
    return get_response


def console_context(request):
    return {}
