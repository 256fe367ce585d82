import type {
  EmailSettings,
  EmailSettingsChange,
  MailProviderChange,
} from '#runtime/access/identity/email-settings.ts';
import { checkBaseAddress, checkMailbox, mailSecurities } from '#runtime/config/mail-checks.ts';
import { OptionError } from '#runtime/config/option.ts';
import { checkAllowedHost } from '#runtime/config/text-checks.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { BodyFields } from '#protocols/http/requests/body-fields.ts';
import type { JsonSchema } from '#protocols/http/route.ts';

/** Most providers of a tenant. */
const PROVIDERS_MAX = 8;

/** Most entries of the list of redirects; each request for a link is compared with all of them. */
const REDIRECTS_MAX = 100;

const CREDENTIAL_CHARACTERS_MAX = 1_024;
const HOST_CHARACTERS_MAX = 253;

const nameShape = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** The schema of `email` in the configuration of how people authenticate. */
export const emailSettingsSchema: JsonSchema = {
  type: ['object', 'null'],
  additionalProperties: false,
  description: 'How the tenant sends mail; null: as the server does.',
  required: ['base_url', 'default_provider', 'providers'],
  properties: {
    base_url: { type: 'string', description: 'Where people land after a login by a link.' },
    default_provider: { type: 'string' },
    redirect_allowlist: {
      type: 'array',
      items: { type: 'string' },
      description: 'Further addresses that `redirect_url` may lie under.',
    },
    providers: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        required: ['kind', 'host', 'port', 'security', 'from'],
        properties: {
          kind: { type: 'string', enum: ['smtp'] },
          host: { type: 'string' },
          port: { type: 'integer' },
          security: { type: 'string', enum: mailSecurities },
          username: { type: ['string', 'null'] },
          password: { type: ['string', 'null'], writeOnly: true },
          has_password: { type: 'boolean', readOnly: true },
          from: { type: 'string' },
          reply_to: { type: ['string', 'null'] },
        },
      },
    },
  },
};

/**
 * Reads `email` of a change of the configuration. Passwords are as they were given.
 *
 * @returns undefined when it is absent; null removes the stored settings
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function readEmailSettings(body: BodyFields): EmailSettingsChange | null | undefined {
  const given = body.optionalValue('email');
  if (given === undefined || given === null) return given;
  const fields = body.fields('email');
  const redirects = fields.optionalStrings('redirect_allowlist') ?? [];
  if (redirects.length > REDIRECTS_MAX) throw tooMany(fields, 'redirect_allowlist', REDIRECTS_MAX);
  const settings: Omit<EmailSettings, 'providers'> = {
    base_url: checked(fields, 'base_url', fields.string('base_url'), checkBaseAddress),
    default_provider: fields.string('default_provider'),
    redirect_allowlist: redirects.map((address, index) =>
      checked(fields, `redirect_allowlist.${index}`, address, checkBaseAddress),
    ),
  };
  const providers = providersOf(fields);
  if (!Object.hasOwn(providers, settings.default_provider))
    throw refused(fields, 'default_provider', 'must be the name of one of the providers');
  return { ...settings, providers };
}

function providersOf(fields: BodyFields): Readonly<Record<string, MailProviderChange>> {
  const listed = fields.fields('providers');
  const names = Object.keys(listed.raw);
  if (names.length > PROVIDERS_MAX) throw tooMany(fields, 'providers', PROVIDERS_MAX);
  return Object.fromEntries(
    names.map((name) => {
      if (!nameShape.test(name))
        throw refused(fields, 'providers', 'may have names of 1 to 63 of a-z, 0-9, - and _');
      return [name, providerOf(listed.fields(name))];
    }),
  );
}

function providerOf(fields: BodyFields): MailProviderChange {
  // A boolean that reads add.
  fields.optionalBoolean('has_password');
  const port = fields.integer('port');
  if (port < 1 || port > 65_535) throw refused(fields, 'port', 'must be from 1 to 65535');
  const host = fields.string('host');
  if (host.length > HOST_CHARACTERS_MAX)
    throw refused(fields, 'host', `may have ${HOST_CHARACTERS_MAX} characters`);
  const reply = fields.optionalString('reply_to') ?? '';
  return {
    kind: fields.oneOf('kind', ['smtp'] as const),
    host: checked(fields, 'host', host, checkAllowedHost),
    port,
    security: fields.oneOf('security', mailSecurities),
    username: credential(fields, 'username', fields.optionalString('username') ?? '') ?? null,
    ...passwordOf(fields),
    from: checked(fields, 'from', fields.string('from'), checkMailbox),
    reply_to: reply === '' ? null : checked(fields, 'reply_to', reply, checkMailbox),
  };
}

/** An absent password keeps the stored one; `null` removes it. An empty text, as forms send it, is absent. */
function passwordOf(fields: BodyFields): Pick<MailProviderChange, 'password'> {
  if (fields.optionalValue('password') === null) return { password: null };
  const password = credential(fields, 'password', fields.optionalString('password') ?? '');
  return password === undefined ? {} : { password };
}

function credential(fields: BodyFields, name: string, value: string): string | undefined {
  if (value === '') return undefined;
  if (value.length > CREDENTIAL_CHARACTERS_MAX)
    throw refused(fields, name, `may have ${CREDENTIAL_CHARACTERS_MAX} characters`);
  if (/[\p{Cc}\p{Cs}]/u.test(value)) throw refused(fields, name, 'has a control character');
  return value;
}

function checked(fields: BodyFields, name: string, text: string, check: (text: string) => string): string {
  try {
    return check(text);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw refused(fields, name, error.problems.join('; '));
  }
}

function refused(fields: BodyFields, name: string, rule: string): ServiceError {
  const field = fields.nameOf(name);
  return invalid(`\`${field}\` ${rule}`, { field });
}

function tooMany(fields: BodyFields, name: string, most: number): ServiceError {
  return refused(fields, name, `may have ${most} entries`);
}
