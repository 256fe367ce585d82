import type { Principal } from '#runtime/access/principal.ts';
import type { HttpRequest, Route } from '#protocols/http/route.ts';

/** A request as REST handlers see it. */
export type RestRequest = HttpRequest<Principal>;

/**
 * Who may call a route that needs or takes a login:
 *
 * - `content`: everybody who may use content; `X-Svc-Impersonate` counts.
 * - `repositories`: as `content`, for what administrators do with repositories: `X-Svc-Impersonate` is ignored.
 * - `administration`: administrators who have logged in; API keys and identities are refused.
 * - `identities`: identities only.
 * - `tenant`: administrators who have logged in, and identities; the route decides which of these.
 *
 * @see docs/interface/accounts.md#which-token-opens-what
 */
export type Audience = 'content' | 'repositories' | 'administration' | 'identities' | 'tenant';

/** A REST route. */
export interface RestRoute extends Route<Principal> {
  /** Default: `administration`, the narrowest. */
  readonly audience?: Audience;
  /**
   * Serves an administrator whose account cannot be read at present, by the signature of the token, and asks no tenant about
   * callers without one: for what is needed during outages. Default: refuses.
   */
  readonly duringOutages?: boolean;
  /** Serves a caller who has to change the password first; default: refuses with `PASSWORD_CHANGE_REQUIRED`. */
  readonly beforePasswordChange?: boolean;
  /**
   * Of a route that writes: some of its requests only read, and the headers of reads count for these. Default: no.
   */
  readonly mayRead?: boolean;
  /**
   * Its handler looks up the key of a request before the branch: a repetition of a request with an `Idempotency-Key` is answered
   * although the branch is gone. Default: the branch of the address is required before the body is read.
   */
  readonly repeatsWithoutBranch?: true;
  /**
   * Accepts undocumented query parameters, which are refused by default. For routes of probes and load balancers,
   * which add parameters of their own, and for routes whose response does not depend on parameters.
   */
  readonly takesAnyParameter?: boolean;
  /**
   * Refuses a request that is meant for another address, and names that address. It runs before unknown fields and
   * parameters are refused, because those refusals would list what this address takes.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`
   */
  readonly refuseMisplaced?: (request: RestRequest) => void;
  /**
   * Refuses callers who may not use the route at all. Called before the body is read and before parameters and fields
   * are checked, see `withPermission`.
   *
   * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`
   */
  permit?(request: RestRequest): void;
}
