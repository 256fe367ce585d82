import type { AuthConfiguration } from './auth-configuration.ts';

/** An encrypted secret of a stored configuration. */
export interface StoredSecret {
  /** What it is for: a client at an OpenID provider, or an account at a mail server. */
  readonly kind: 'client' | 'mail';
  /** Id of the OpenID provider, or name of the mail server. */
  readonly provider: string;
  /** The encrypted text. */
  readonly sealed: string;
}

/** Returns every encrypted secret of a configuration. A secret that this does not return cannot follow a new master key. */
export function storedSecrets({
  email,
  oidc_providers: clients,
}: AuthConfiguration): readonly StoredSecret[] {
  const ofClients = clients.flatMap(({ client_secret: sealed, provider_id: provider }): StoredSecret[] =>
    sealed === null ? [] : [{ kind: 'client', provider, sealed }],
  );
  const ofMail = Object.entries(email?.providers ?? {}).flatMap(
    ([provider, { password: sealed }]): StoredSecret[] =>
      sealed === null ? [] : [{ kind: 'mail', provider, sealed }],
  );
  return [...ofClients, ...ofMail];
}

/**
 * Replaces encrypted secrets of a configuration.
 *
 * @param replacements from the stored text to the new one; one that is not stored any more has no effect
 */
export function withReplacedSecrets(
  configuration: AuthConfiguration,
  replacements: ReadonlyMap<string, string>,
): AuthConfiguration {
  const { email, oidc_providers: clients } = configuration;
  const replaced = (sealed: string | null): string | null =>
    sealed === null ? null : (replacements.get(sealed) ?? sealed);
  const servers = Object.entries(email?.providers ?? {}).map(
    ([name, server]) => [name, { ...server, password: replaced(server.password) }] as const,
  );
  return {
    ...configuration,
    oidc_providers: clients.map((client) => ({ ...client, client_secret: replaced(client.client_secret) })),
    email: email === null ? null : { ...email, providers: Object.fromEntries(servers) },
  };
}
