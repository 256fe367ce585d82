import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { type EmailSettings, mailPasswordPurpose } from '#runtime/access/identity/email-settings.ts';
import {
  checkBaseAddress,
  type Mailbox,
  type MailSecurity,
  parseMailbox,
  parseSmtpUrl,
} from '#runtime/config/mail-checks.ts';
import type { Options } from '#runtime/config/options.ts';
import { Secret } from '#runtime/config/secret.ts';
import type { SecretBox } from '#runtime/config/secret-box.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** A mail server with what is needed to send through it. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  readonly security: MailSecurity;
  readonly account: { readonly username: string; readonly password: Secret } | undefined;
  readonly from: Mailbox;
  readonly replyTo: Mailbox | undefined;
  /** Whether the operator has named it, and not an administrator of the tenant. */
  readonly isOperators: boolean;
}

/** How mail of a tenant is sent at present. */
export interface EmailSetup {
  /** Name of the provider, for the log. */
  readonly provider: string;
  /** Where people land who ask for nothing else. */
  readonly baseUrl: string;
  /** Where people may land: {@link baseUrl} and what is allowed besides. */
  readonly landings: readonly string[];
  /** Origin of this server in links. */
  readonly origin: string;
  /** The mail server, with its password. @throws {ServiceError} `EMAIL_NOT_CONFIGURED` when it cannot be decrypted */
  server(): MailServer;
}

/** Name of the provider of the operator, for the log. */
const OPERATORS = 'SVC_SMTP_URL';

/**
 * How mail is sent: as the tenant has configured it, else as the operator has.
 *
 * Links begin with `SVC_BASE_URL`, or with the origin of the place where people land. They never follow the `Host` of a
 * request: whoever asks for a link in the name of somebody else would choose where the token goes.
 */
export class EmailSetups {
  readonly #box: SecretBox;
  readonly #origin: string | undefined;
  readonly #operators: EmailSetup | undefined;

  constructor({ email, server }: Pick<Options, 'email' | 'server'>, box: SecretBox) {
    this.#box = box;
    this.#origin = server.baseUrl;
    this.#operators = operatorsSetup(email, server.baseUrl);
  }

  /** @returns undefined when nobody has configured how */
  of(tenant: string, { email }: Pick<AuthConfiguration, 'email'>): EmailSetup | undefined {
    if (email === null) return this.#operators;
    return {
      provider: email.default_provider,
      baseUrl: email.base_url,
      landings: [email.base_url, ...email.redirect_allowlist],
      origin: this.#origin ?? new URL(email.base_url).origin,
      server: () => this.#server(tenant, email),
    };
  }

  #server(tenant: string, { default_provider: name, providers }: EmailSettings): MailServer {
    const provider = providers[name];
    if (provider === undefined) throw new ServiceError('EMAIL_NOT_CONFIGURED');
    const { from, host, password: sealed, port, reply_to: replyTo, security, username } = provider;
    const password = sealed === null ? undefined : this.#box.open(mailPasswordPurpose(tenant, name), sealed);
    if (sealed !== null && password === undefined)
      throw new ServiceError(
        'EMAIL_NOT_CONFIGURED',
        'The password of the mail server cannot be decrypted with the master key; store it again',
      );
    return {
      host,
      port,
      security,
      account:
        username === null || password === undefined
          ? undefined
          : { username, password: new Secret(password) },
      from: parseMailbox(from),
      replyTo: replyTo === null ? undefined : parseMailbox(replyTo),
      isOperators: false,
    };
  }
}

function operatorsSetup(
  { emailBaseUrl: own, from, redirectAllowlist, smtpUrl }: Options['email'],
  serverUrl: string | undefined,
): EmailSetup | undefined {
  const baseUrl = own ?? serverUrl;
  // The start refuses a server without the other two.
  if (smtpUrl === undefined || from === undefined || baseUrl === undefined) return undefined;
  const { password, username, ...address } = parseSmtpUrl(smtpUrl.reveal());
  const server: MailServer = {
    ...address,
    account:
      username === null || password === null ? undefined : { username, password: new Secret(password) },
    from: parseMailbox(from),
    replyTo: undefined,
    isOperators: true,
  };
  return {
    provider: OPERATORS,
    baseUrl: checkBaseAddress(baseUrl),
    landings: [checkBaseAddress(baseUrl), ...redirectAllowlist],
    origin: serverUrl ?? new URL(baseUrl).origin,
    server: () => server,
  };
}
