import { ServiceError } from '#runtime/errors/service-error.ts';
import type { HostAllowance } from './allowance.ts';

/**
 * Errors of outgoing requests. Texts name the host as it was asked for, and settings. They contain nothing of a response
 * but the host that it redirects to, and no address that a name resolved to: a tenant could explore the network of the
 * operator with them. Those are in `cause`, for the log.
 */

/** Why a request was not sent, for code. */
export type RefusalReason = 'url' | 'scheme' | 'credentials' | 'port' | 'host' | 'address' | 'redirect';

/** The rules do not let a request go there. @returns `EGRESS_REFUSED` (400) */
export function refused(reason: RefusalReason, message: string, cause?: unknown): ServiceError {
  return new ServiceError('EGRESS_REFUSED', message, { details: { reason }, cause });
}

/** How to allow what is not public, as the end of a message. */
export function privateRemedy({ privateSetting, purpose }: HostAllowance): string {
  return privateSetting === undefined
    ? `Nothing allows this for ${purpose}.`
    : `The operator can allow it for ${purpose} with ${privateSetting}.`;
}

/**
 * A name does not lead to a place where requests may go: it has no address, or one that is not public. Both are the
 * same error, because the difference tells which names exist in the network of the operator.
 *
 * @param found the addresses, for the log
 */
export function noAllowedAddress(
  host: string,
  allowance: HostAllowance,
  found: readonly string[],
): ServiceError {
  const needs = allowance.allowPrivateAddresses
    ? 'It needs addresses, and none of them may be link-local, reserved or of a metadata service.'
    : `It needs addresses, and all of them must be public. ${privateRemedy(allowance)}`;
  const cause = new Error(found.length === 0 ? `${host} has no address` : `${host} is ${found.join(', ')}`);
  return refused('address', `The name '${host}' does not lead to an allowed address. ${needs}`, cause);
}

/** The server cannot be reached. @returns `UPSTREAM_UNREACHABLE` (502) */
export function unreachable(message: string, cause?: unknown): ServiceError {
  return new ServiceError('UPSTREAM_UNREACHABLE', message, { cause });
}

/** The response is not acceptable. @returns `UPSTREAM_INVALID` (502) */
export function unacceptable(message: string, cause?: unknown): ServiceError {
  return new ServiceError('UPSTREAM_INVALID', message, { cause });
}

/** Something took longer than it may. @returns `UPSTREAM_TIMEOUT` (504) */
export function tooSlow(host: string, what: string, ms: number): ServiceError {
  return new ServiceError('UPSTREAM_TIMEOUT', `The server '${host}' did not ${what} within ${ms} ms`);
}

/** A response has more bytes than the allowance has. */
export function tooLarge(host: string, bytesMax: number): ServiceError {
  return unacceptable(`The response of '${host}' has more than ${bytesMax} bytes`);
}

/** How far an exchange was when it failed. */
export type Phase = 'connect' | 'tls' | 'exchange';

/** Codes of OpenSSL and Node, which are constants. */
const errorCode = /^[A-Z][A-Z0-9_]{1,63}$/;

/**
 * The error for a failure that Node reports.
 *
 * @param error of a socket, the HTTP parser or the decompression; a {@link ServiceError} is returned as it is
 */
export function failure(host: string, phase: Phase, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (code === 'HPE_HEADER_OVERFLOW')
    return unacceptable(`The head of the response of '${host}' is too large`, error);
  if (code.startsWith('HPE_')) return unacceptable(`The server '${host}' did not answer with HTTP`, error);
  if (code.startsWith('Z_')) return unacceptable(`The response of '${host}' cannot be decompressed`, error);
  if (phase === 'connect') return unreachable(`No connection to '${host}' could be made`, error);
  if (phase === 'exchange') return unreachable(`The server '${host}' closed the connection`, error);
  const why = errorCode.test(code) ? ` (${code})` : '';
  return unreachable(
    `There is no secure connection to '${host}'${why}: its certificate must be valid, name the host, and come from a known authority`,
    error,
  );
}
