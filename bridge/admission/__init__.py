"""Admission: AdmissionReviews and their responses, and the webhook configurations that cause them."""
