import type { RestRequest } from './rest-route.ts';
import { createHash, type Hash } from 'node:crypto';
import { policyFor } from '#runtime/access/policy.ts';
import type { Delivery, Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { LocksProvisioning } from './ports.ts';
import { consistencyOf } from './reads/read-consistency.ts';
import type { RepositoryDirectory } from './access/repository-directory.ts';
import { singleHeader } from './single-header.ts';

/** Dependencies of every REST route. */
export interface RestContext {
  readonly router: Router;
  readonly directory: RepositoryDirectory;
  readonly locks: LocksProvisioning;
  readonly clock: Clock;
}

/** 1 to 255 printable characters, because keys are logged. */
const keyShape = /^[\x20-\x7e]{1,255}$/;

/**
 * The caller of a read that finishes within the present turn. It has no abort signal, which costs an allocation and
 * could not fire in time.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for an unknown `X-Svc-Consistency`
 */
export function readerOf(request: RestRequest): Caller {
  const { principal, deadlineMs } = request;
  const policy = policyFor(principal, principal.tenant);
  const consistency = consistencyOf(request);
  return consistency === undefined
    ? { principal, policy, deadlineMs }
    : { principal, policy, deadlineMs, consistency };
}

/** The caller of work that may outlast the caller's patience. @throws {ServiceError} as {@link readerOf} */
export function callerOf(request: RestRequest): Caller {
  const { principal, deadlineMs, signal } = request;
  const policy = policyFor(principal, principal.tenant);
  const consistency = consistencyOf(request);
  return consistency === undefined
    ? { principal, policy, deadlineMs, signal }
    : { principal, policy, deadlineMs, signal, consistency };
}

/**
 * The sender of a command, with the request's `Idempotency-Key` if it has one.
 *
 * @param caller default: {@link callerOf}
 * @throws {ServiceError} `VALIDATION_FAILED` for a key that is empty, too long or not printable
 */
export function deliveryOf(request: RestRequest, caller: Caller = callerOf(request)): Delivery {
  const key = singleHeader(request, 'Idempotency-Key');
  return key === undefined ? { caller } : { caller, idempotency: idempotencyOf(request, key) };
}

/** Hashes of large bodies, computed before their handlers run. */
const hashes = new WeakMap<RestRequest, string>();

/** Hashes a large body if the request has an `Idempotency-Key`; yields where the work may be suspended. */
export function* hashLargeBody(request: RestRequest): Generator<undefined, void> {
  if (request.header('idempotency-key') === undefined) return;
  const hash = hashOfHead(request);
  for (const piece of jsonPieces(request.body)) {
    hash.update(piece);
    yield undefined;
  }
  hashes.set(request, hash.digest('hex'));
}

/** Headers that say when a write may happen. A write with another condition is another request. */
const conditionHeaders = ['if-match', 'if-none-match', 'x-svc-lock'] as const;

function hashOfHead(request: RestRequest): Hash {
  const { path, queryString, route } = request;
  const hash = createHash('sha256').update(`${route.method} ${path}?${queryString}\0`);
  for (const name of conditionHeaders) {
    const condition = request.headerList(name);
    if (condition !== undefined) hash.update(`${name}: ${condition}\0`);
  }
  return hash;
}

function unusableKey(): ServiceError {
  return invalid('Idempotency-Key has 1 to 255 printable ASCII characters', { field: 'Idempotency-Key' });
}

function idempotencyOf(request: RestRequest, key: string): IdempotencyKey {
  if (!keyShape.test(key)) throw unusableKey();
  const known = hashes.get(request);
  if (known !== undefined) return { key, requestHash: known };
  const body = request.route.body === 'bytes' ? request.bytes : (JSON.stringify(request.body) ?? '');
  return { key, requestHash: hashOfHead(request).update(body).digest('hex') };
}
