import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { mailPasswordPurpose } from '#runtime/access/identity/email-settings.ts';
import { type StoredSecret, storedSecrets } from '#runtime/access/identity/stored-secrets.ts';
import type { SecretBox } from '#runtime/config/secret-box.ts';
import { openClientSecret, resealedClientSecret } from './oidc/client-secret.ts';

/** The secrets of a configuration under a new master key. */
export interface ResealedSecrets {
  /** From each text that is encrypted with the previous key to one that is encrypted with the present key. */
  readonly replacements: ReadonlyMap<string, string>;
  /** Secrets that are encrypted with neither key. */
  readonly unreadable: readonly StoredSecret[];
}

/** Encrypts the secrets of a tenant again that are encrypted with the previous master key. */
export function resealedSecrets(
  box: SecretBox,
  tenant: string,
  configuration: AuthConfiguration,
): ResealedSecrets {
  const replacements = new Map<string, string>();
  const unreadable: StoredSecret[] = [];
  for (const secret of storedSecrets(configuration)) {
    const { kind, provider, sealed } = secret;
    const purpose = mailPasswordPurpose(tenant, provider);
    const resealed =
      kind === 'mail' ? box.resealed(purpose, sealed) : resealedClientSecret(box, tenant, provider, sealed);
    if (resealed !== undefined) replacements.set(sealed, resealed);
    const opened =
      kind === 'mail' ? box.open(purpose, sealed) : openClientSecret(box, tenant, provider, sealed);
    if (opened === undefined) unreadable.push(secret);
  }
  return { replacements, unreadable };
}
