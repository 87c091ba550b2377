"""Admission: AdmissionReviews in and out, and the webhook configuration that brings them here."""
