"""Addresses of the third floor's pages."""

from django.urls import path

from reconciliation import views

urlpatterns = [
    path("", views.queue, name="cases"),
    path("<str:operation_id>/", views.case, name="case"),
    path("<str:operation_id>/settle", views.settle, name="settle"),
    path("<str:operation_id>/take", views.take, name="take_case"),
]
