# A policy of an admin.
package testing.forbidden

violation contains {"msg": "label forbidden"} if input.review.object.metadata.labels.forbidden
