import { createHash, timingSafeEqual } from 'node:crypto';
import { policyFor, requireAdministrator } from '#runtime/access/policy.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Secret } from '#runtime/config/secret.ts';
import { bearerToken } from './authenticate.ts';
import { isForwarded, isLoopbackAddress } from './this-machine.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** Routes that call {@link OperatorAccess.require}. All other routes with authentication refuse the operator token. */
export const operatorPatterns = { metrics: '/metrics', cluster: '/api/management/cluster' } as const;

const opened: ReadonlySet<string> = new Set(Object.values(operatorPatterns));

/**
 * Grants access to a member's own state: metrics, the details of its readiness, the state of the cluster. These are
 * needed during outages, so none depends on a lookup: the routes are marked {@link RestRoute.duringOutages}.
 *
 * - A request from this machine without a token. A proxy on this machine must send forwarded headers.
 * - The static operator token, which grants nothing else.
 * - The token of a system administrator.
 */
export class OperatorAccess {
  readonly #digest: Buffer | undefined;

  /** @param token `SVC_METRICS_TOKEN`; if undefined, there is no operator token */
  constructor(token?: Secret) {
    this.#digest = token === undefined ? undefined : digestOf(token.reveal());
  }

  /** @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
  require(request: RestRequest): void {
    const token = bearerToken(request);
    if (token === undefined ? isFromThisMachine(request) : this.#isOperatorToken(token)) return;
    requireAdministrator(policyFor(request.principal, SYSTEM_TENANT), request.principal);
  }

  /** Whether the caller may see the details. */
  isGranted(request: RestRequest): boolean {
    const token = bearerToken(request);
    return token === undefined ? isFromThisMachine(request) : this.#isOperatorToken(token);
  }

  /**
   * Refuses the operator token where it grants nothing. If it were treated as absent, the caller would be anonymous,
   * and an empty list would look like an empty repository.
   *
   * @param token a bearer token that does not belong to an account
   * @throws {ServiceError} `FORBIDDEN`
   */
  refuseElsewhere(request: RestRequest, token: string): void {
    if (opened.has(request.route.pattern) || !this.#isOperatorToken(token)) return;
    throw new ServiceError(
      'FORBIDDEN',
      'The operator token (SVC_METRICS_TOKEN) reads metrics, readiness and the state of the cluster only; log in for everything else',
    );
  }

  /** Digests have equal length, so the comparison takes the same time for every input. */
  #isOperatorToken(token: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digestOf(token), this.#digest);
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** A proxy on this machine has a loopback address too, but sends forwarded headers. */
function isFromThisMachine(request: RestRequest): boolean {
  return !isForwarded(request) && isLoopbackAddress(request.remoteAddress);
}
