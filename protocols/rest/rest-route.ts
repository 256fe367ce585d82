import type { Principal } from '#runtime/access/principal.ts';
import type { HttpRequest, Route } from '#protocols/http/route.ts';

/** A request as REST handlers see it. */
export type RestRequest = HttpRequest<Principal>;

/** A REST route. */
export interface RestRoute extends Route<Principal> {
  /**
   * Lets query parameters through that its documentation does not have; else they are refused. For what probes and load
   * balancers ask, who add something of their own, and for what is refused or answered alike whatever is asked for.
   */
  readonly takesAnyParameter?: boolean;
  /**
   * Refuses what is meant for another address, and says for which. It runs before unknown fields and parameters are
   * refused, whose refusals would name what this address takes.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`
   */
  readonly refuseMisplaced?: (request: RestRequest) => void;
  /**
   * Refuses who may not use the route at all. It is asked before the body is read and before anything is said of
   * parameters and fields, see `withPermission`.
   *
   * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`
   */
  permit?(request: RestRequest): void;
}
