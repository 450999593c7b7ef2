"""Addresses of the emergency stop."""

from django.urls import path

from operations import stop_views

urlpatterns = [
    path("", stop_views.stops, name="stops"),
    path("set", stop_views.set_one, name="set_stop"),
    path("<int:stop_id>/lift", stop_views.lift_one, name="lift_stop"),
]
