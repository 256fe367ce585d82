import type { MailSecurity } from '#runtime/config/mail-checks.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** A server that sends the mail of a tenant, as stored. */
export interface MailProvider {
  readonly kind: 'smtp';
  readonly host: string;
  readonly port: number;
  readonly security: MailSecurity;
  /** null: without an account. */
  readonly username: string | null;
  /** Encrypted; null: without an account. */
  readonly password: string | null;
  /** The mailbox that mail is sent from, as `parseMailbox` reads it. */
  readonly from: string;
  /** The mailbox for answers; null: {@link from}. */
  readonly reply_to: string | null;
}

/** How a tenant sends mail. */
export interface EmailSettings {
  /** Where people land after a login by a link, and what `redirect_url` must lie under. */
  readonly base_url: string;
  /** The provider that is used: one of {@link providers}. */
  readonly default_provider: string;
  /** Further addresses that `redirect_url` may lie under. */
  readonly redirect_allowlist: readonly string[];
  readonly providers: Readonly<Record<string, MailProvider>>;
}

/** A provider in a change. An absent password keeps the stored one, null removes it. */
export interface MailProviderChange extends Omit<MailProvider, 'password'> {
  readonly password?: string | null;
}

/** A change of {@link EmailSettings}, which replaces all of them. */
export interface EmailSettingsChange extends Omit<EmailSettings, 'providers'> {
  readonly providers: Readonly<Record<string, MailProviderChange>>;
}

/**
 * Applies a change. A provider that the change does not name is removed. One that it names without a password keeps its
 * own, as long as the password goes to the same server in the same way: otherwise whoever may configure a tenant could
 * have it sent to a server of their own.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a user name without a password
 */
export function mergedEmailSettings(
  stored: EmailSettings | null,
  change: EmailSettingsChange | null,
): EmailSettings | null {
  if (change === null) return null;
  const providers = Object.entries(change.providers).map(([name, given]): [string, MailProvider] => {
    const known = stored?.providers[name];
    const isSame =
      known !== undefined &&
      known.host === given.host &&
      known.port === given.port &&
      known.security === given.security &&
      known.username === given.username;
    const { password = isSame ? known.password : null, ...rest } = given;
    if ((given.username === null) !== (password === null)) {
      const field = `email.providers.${name}.password`;
      throw invalid(
        `\`${field}\` is needed with a user name, and again when the server or the user name changes`,
        { field },
      );
    }
    return [name, { ...rest, password }];
  });
  return { ...change, providers: Object.fromEntries(providers) };
}

/** What the password of a provider is sealed for, so that it opens for no other tenant and provider. */
export function mailPasswordPurpose(tenant: string, provider: string): string {
  return `mail password\n${tenant}\n${provider}`;
}

/** Encrypts the passwords of a change, which arrive as plain text. @param seal bound to the name of its provider */
export function withSealedPasswords(
  change: EmailSettingsChange | null,
  seal: (password: string, provider: string) => string,
): EmailSettingsChange | null {
  if (change === null) return null;
  const providers = Object.entries(change.providers).map(([name, provider]) => {
    const { password } = provider;
    return [name, typeof password === 'string' ? { ...provider, password: seal(password, name) } : provider];
  });
  return { ...change, providers: Object.fromEntries(providers) as EmailSettingsChange['providers'] };
}

/** The settings as they are answered to an administrator: of a password only whether there is one. */
export function shownEmailSettings(settings: EmailSettings | null): JsonObject | null {
  if (settings === null) return null;
  const providers = Object.entries(settings.providers).map(([name, { password, ...provider }]) => [
    name,
    { ...provider, has_password: password !== null },
  ]);
  return { ...settings, providers: Object.fromEntries(providers) } as unknown as JsonObject;
}
