"""Addresses of the ground floor's pages."""

from django.urls import path

from operations import views

urlpatterns = [
    path("", views.explorer, name="operations"),
    path("<str:operation_id>/", views.operation, name="operation"),
    path("<str:operation_id>/raw", views.raw, name="operation_raw"),
    path("<str:operation_id>/intent.json", views.exact_bytes, name="operation_bytes"),
]
