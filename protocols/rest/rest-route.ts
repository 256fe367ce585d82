import type { Principal } from '#runtime/access/principal.ts';
import type { HttpRequest, Route } from '#protocols/http/route.ts';

/** A request as REST handlers see it. */
export type RestRequest = HttpRequest<Principal>;

/** A REST route. */
export interface RestRoute extends Route<Principal> {
  /**
   * Accepts undocumented query parameters, which are refused by default. For routes of probes and load balancers,
   * which add parameters of their own, and for routes whose response does not depend on parameters.
   */
  readonly takesAnyParameter?: boolean;
  /**
   * Whether the route serves a person who has to change the password first; others refuse with
   * `PASSWORD_CHANGE_REQUIRED`.
   */
  readonly worksBeforePasswordChange?: true;
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
