"""Addresses of the second floor's pages."""

from django.urls import path

from approvals import views

urlpatterns = [
    path("", views.queue, name="decisions"),
    path("<str:operation_id>/", views.decision, name="decision"),
]
