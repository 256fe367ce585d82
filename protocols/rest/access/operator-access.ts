import { createHash, timingSafeEqual } from 'node:crypto';
import { policyFor, requireAdministrator } from '#runtime/access/policy.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Secret } from '#runtime/config/secret.ts';
import { bearerToken } from './authenticate.ts';
import { isForwarded, isLoopbackAddress } from './this-machine.ts';
import type { RestRequest } from '../rest-route.ts';

/** Routes that ask {@link OperatorAccess.require}. The operator token is refused at all others that ask who calls. */
export const operatorPatterns = { metrics: '/metrics', cluster: '/api/management/cluster' } as const;

const opened: ReadonlySet<string> = new Set(Object.values(operatorPatterns));

/**
 * Who may see what a member says of itself: metrics, the details of its readiness, the state of the cluster. These
 * are asked for while things are broken, so nothing has to be looked up: neither an account nor its owner.
 *
 * - A request from this machine without a token. A proxy on this machine must say for whom it asks.
 * - The static operator token, which can do nothing else.
 * - The token of an administrator of the system.
 */
export class OperatorAccess {
  readonly #digest: Buffer | undefined;

  /** @param token `SVC_METRICS_TOKEN`; without one there is no such token */
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
   * Refuses the operator token where it opens nothing. Taking it for no token would answer as an anonymous caller is
   * answered, and an empty list would look like an empty repository.
   *
   * @param token a bearer token that is not one of an account
   * @throws {ServiceError} `FORBIDDEN`
   */
  refuseElsewhere(request: RestRequest, token: string): void {
    if (opened.has(request.route.pattern) || !this.#isOperatorToken(token)) return;
    throw new ServiceError(
      'FORBIDDEN',
      'The operator token (SVC_METRICS_TOKEN) reads metrics, readiness and the state of the cluster only; log in for everything else',
    );
  }

  /** Digests have one length, so the comparison takes the same time whatever was sent. */
  #isOperatorToken(token: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digestOf(token), this.#digest);
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** A proxy on this machine has a loopback address too, but it says for whom it asks. */
function isFromThisMachine(request: RestRequest): boolean {
  return !isForwarded(request) && isLoopbackAddress(request.remoteAddress);
}
