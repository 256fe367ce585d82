import type { IncomingMessage } from 'node:http';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { EgressAllowance } from './allowance.ts';
import { type CheckedHost, CheckedHosts, type HostSurroundings } from './checked-hosts.ts';
import { type CheckedUrl, checkedUrl } from './checked-url.ts';
import { refused, tooSlow } from './egress-errors.ts';
import { EgressSlots } from './egress-slots.ts';
import { FailureLog } from './failure-log.ts';
import { exchange, type ExchangeSurroundings, StaleConnectionSignal } from './exchange.ts';
import {
  type AskedRequest,
  isRedirect,
  type OutgoingRequest,
  outgoingRequest,
  redirected,
} from './outgoing-request.ts';
import { PinnedAgents } from './pinned-agents.ts';
import { RequestLife } from './request-life.ts';
import { responseOf } from './response-body.ts';

/** On whose behalf something is done, and what ends it early. */
export interface EgressCaller {
  /** The tenant whose share of the requests it counts against. */
  readonly tenant: string;
  /** Ends it with the reason of the signal, as `fetch` does. */
  readonly signal?: AbortSignal | null | undefined;
}

/** A request as in `fetch`, with its tenant. */
export interface GuardedRequest extends AskedRequest, EgressCaller {
  /** As in `fetch`; `follow` where it is left out. With `manual` the redirect is the response. */
  readonly redirect?: 'follow' | 'manual' | 'error' | undefined;
  /** Time for all of it, in milliseconds; at most what the allowance has. */
  readonly timeoutMs?: number | undefined;
}

/** What a guard uses of its process. */
export interface EgressSurroundings extends HostSurroundings {
  /** Gets what errors do not tell callers. */
  readonly log: Log;
  /** Certificate authorities as PEM; left out: those of Node, with `NODE_EXTRA_CA_CERTS`. */
  readonly authorities?: readonly string[] | undefined;
}

/**
 * Sends the requests of one purpose to servers that users of Grove name. These users and servers may be hostile: a
 * request must not reach what only this machine can reach, and a response must not use up its memory, time or
 * connections.
 *
 *     check the URL -> resolve the name, check all addresses -> connect to one of them -> send -> read within bounds
 *          ^                                                                              |
 *          +----------------------------------- redirect ---------------------------------+
 *
 * Invariants:
 *
 * 1. A connection is made only to an address of a check that was made for it. It is used again only while the last check
 *    of its host has the same addresses and is less than a minute old.
 * 2. Every URL, that of each redirect too, passes all checks.
 * 3. Whatever a server does, a request ends within its time, and leaves no timer and no connection in use behind.
 */
export class EgressGuard {
  readonly #allowance: EgressAllowance;
  readonly #clock: Clock;
  readonly #hosts: CheckedHosts;
  readonly #slots: EgressSlots;
  readonly #agents = new PinnedAgents();
  readonly #exchanges: ExchangeSurroundings;
  readonly #failures: FailureLog;
  readonly #lives = new Set<RequestLife>();
  #isClosed = false;

  constructor(allowance: EgressAllowance, surroundings: EgressSurroundings) {
    this.#allowance = allowance;
    this.#clock = surroundings.clock;
    this.#hosts = new CheckedHosts(allowance, surroundings);
    this.#slots = new EgressSlots(allowance.concurrentMax, allowance.concurrentPerTenantMax);
    this.#failures = new FailureLog(surroundings.log, surroundings.clock, allowance.purpose);
    this.#exchanges = { allowance, agents: this.#agents, authorities: surroundings.authorities };
  }

  /**
   * Checks a URL before it is saved, without connecting: its text, and all addresses of its host.
   *
   * @throws {ServiceError} `EGRESS_REFUSED`, `UPSTREAM_UNREACHABLE` and `UPSTREAM_TIMEOUT` when its name cannot be
   *   resolved at present, `RATE_LIMITED`, `OVERLOADED`, `SHUTTING_DOWN`; the reason of the signal
   */
  async check(url: string | URL, caller: EgressCaller): Promise<void> {
    const target = checkedUrl(url, this.#allowance);
    const life = this.#begin(caller);
    try {
      await this.#hosts.check(target, life);
    } catch (error) {
      this.#failures.write(error, caller.tenant);
      throw error;
    } finally {
      life.close();
    }
  }

  /**
   * Sends a request and returns its response, as `fetch` does. The body is received while it is read, and has to be read
   * or cancelled; when neither happens, it ends with the time of the request.
   *
   * @throws {ServiceError} `EGRESS_REFUSED`, `UPSTREAM_UNREACHABLE`, `UPSTREAM_TIMEOUT`, `UPSTREAM_INVALID`,
   *   `VALIDATION_FAILED` for what the caller gives, `RATE_LIMITED`, `OVERLOADED`, `SHUTTING_DOWN`; the reason of the
   *   signal. The body fails with the same errors.
   */
  async fetch(url: string | URL, asked: GuardedRequest): Promise<Response> {
    const request = outgoingRequest(url, asked, this.#allowance);
    const life = this.#begin(asked);
    const ms = Math.min(asked.timeoutMs ?? this.#allowance.timeoutMs, this.#allowance.timeoutMsMax);
    life.limit(ms, () => tooSlow(request.target.host, 'complete its response', ms));
    try {
      return await this.#follow(request, asked, life);
    } catch (error) {
      life.close();
      this.#failures.write(error, asked.tenant);
      throw error;
    }
  }

  /** Ends all requests and closes all connections. */
  close(): void {
    this.#isClosed = true;
    for (const life of this.#lives) life.end(new ServiceError('SHUTTING_DOWN'));
    this.#agents.close();
  }

  #begin({ signal, tenant }: EgressCaller): RequestLife {
    if (this.#isClosed) throw new ServiceError('SHUTTING_DOWN');
    const giveBack = this.#slots.take(tenant);
    const life = new RequestLife(this.#clock, signal ?? undefined, () => {
      this.#lives.delete(life);
      giveBack();
    });
    this.#lives.add(life);
    return life;
  }

  async #follow(
    first: OutgoingRequest,
    { redirect: mode, tenant }: GuardedRequest,
    life: RequestLife,
  ): Promise<Response> {
    let request = first;
    for (let followed = 0; ; followed += 1) {
      const message = await this.#send(request, tenant, life);
      const status = message.statusCode ?? 0;
      const { location } = message.headers;
      const { host, url } = request.target;
      try {
        // It may have ended after the head had arrived.
        life.signal.throwIfAborted();
        if (mode === 'manual' || !isRedirect(status, location))
          return responseOf(message, request.method, url, life, this.#allowance);
        if (mode === 'error')
          throw refused('redirect', `The server '${host}' redirects, which is not followed here`);
        if (followed >= this.#allowance.redirectsMax)
          throw refused('redirect', `There are more than ${this.#allowance.redirectsMax} redirects`);
        request = redirected(request, status, location, this.#allowance);
      } catch (error) {
        message.destroy();
        throw error;
      }
      // Its body is of no use, and its connection not worth waiting for the end.
      message.destroy();
    }
  }

  async #send(request: OutgoingRequest, tenant: string, life: RequestLife): Promise<IncomingMessage> {
    const { target } = request;
    // Ends: a round that fails this way closes the unused connections, so the next round has a new one, which cannot fail
    // this way, or one that another request has used a moment ago.
    for (;;) {
      const recent = this.#hosts.recent(target);
      const isUsable =
        recent !== undefined && this.#agents.hasUnused(target.isSecure, pinOf(target, recent, tenant));
      const checked = isUsable ? recent : await this.#hosts.renew(target, life);
      const pin = pinOf(target, checked, tenant);
      try {
        return await exchange(request, checked, pin, life, this.#exchanges);
      } catch (error) {
        if (!(error instanceof StaleConnectionSignal)) throw error;
        this.#agents.closeUnused(target.isSecure, pin);
      }
    }
  }
}

/**
 * What the connections of a request are kept under: origin and addresses, and the tenant, because servers may know who a
 * connection belongs to (NTLM).
 */
function pinOf({ url }: CheckedUrl, { addresses }: CheckedHost, tenant: string): string {
  return [url.origin, ...addresses.toSorted(), tenant].join(' ');
}
