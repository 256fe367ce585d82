/** The part of `oidc-provider` that tests use; the package has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  /** An OpenID provider. */
  export class Provider {
    /** @param issuer its address */
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    /** Answers its requests. */
    callback(): RequestListener;
  }
}
