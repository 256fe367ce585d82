import type { SecretBox } from '#runtime/config/secret-box.ts';

/** Seals a client secret for storage. It opens for this provider of this tenant only. */
export function sealClientSecret(box: SecretBox, tenant: string, providerId: string, secret: string): string {
  return box.seal(purposeOf(tenant, providerId), secret);
}

/**
 * Opens a stored client secret.
 *
 * @returns undefined when it was sealed under another master key, or for another provider or tenant
 */
export function openClientSecret(
  box: SecretBox,
  tenant: string,
  providerId: string,
  sealed: string,
): string | undefined {
  return box.open(purposeOf(tenant, providerId), sealed);
}

/** As {@link SecretBox.resealed}, for a stored client secret. */
export function resealedClientSecret(
  box: SecretBox,
  tenant: string,
  providerId: string,
  sealed: string,
): string | undefined {
  return box.resealed(purposeOf(tenant, providerId), sealed);
}

/** The names have no line breaks. */
function purposeOf(tenant: string, providerId: string): string {
  return `oidc client secret\n${tenant}\n${providerId}`;
}
