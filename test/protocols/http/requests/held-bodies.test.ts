import type { HttpRequest as UwsRequest, HttpResponse as UwsResponse } from 'uWebSockets.js';
import { beforeEach, expect, it } from 'vitest';
import { HttpExchange } from '#protocols/http/exchange.ts';
import { defaultHttpLimits } from '#protocols/http/http-limits.ts';
import { InFlight } from '#protocols/http/in-flight.ts';
import { InFlightShares } from '#protocols/http/in-flight-shares.ts';
import { ByteBudget } from '#runtime/budget/byte-budget.ts';
import { ReceivingTurns } from '#protocols/http/requests/receiving-turns.ts';
import {
  type BodyBound,
  collectBody,
  lengthOf,
  type PausedBody,
} from '#protocols/http/requests/request-body.ts';
import { UwsCallbacks } from '#protocols/http/uws-callbacks.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { route } from '../http-fixture.ts';

/** Bytes received in one turn after which all other bodies are held back. */
const TURN_BYTES = 1_000;

const bound: BodyBound = { bytesMax: 10_000, isAnonymous: false };
const limits = { ...defaultHttpLimits, sweepMs: 3_600_000 };
const compiled = { route: route('POST', '/take', () => ({ status: 200 })), names: [], hasTail: false };

let begun: (() => void)[];
let clock: Clock;
let turns: ReceivingTurns;

beforeEach(() => {
  begun = [];
  clock = {
    ...systemClock,
    soon: (callback) => void begun.push(callback),
    after: () => ({ cancel: () => {} }),
  };
  turns = new ReceivingTurns(clock, TURN_BYTES);
});

function nextTurn(): void {
  for (const begin of begun.splice(0)) begin();
}

/** A body that arrives on a connection whose library is played by the test. */
class Arriving {
  /** What the library was asked for. */
  readonly asked: string[] = [];
  /** Lengths of the bodies that arrived whole. */
  readonly whole: number[] = [];
  readonly exchange: HttpExchange<unknown>;
  readonly body: PausedBody;
  /** The peer closes the connection. */
  close: () => void = () => {};
  #data: (chunk: ArrayBuffer, isLast: boolean) => void = () => {};

  constructor(ofBound: BodyBound | undefined) {
    const ask = (what: string) => (): void => {
      if (!this.exchange.isOpen) throw new Error(`a response is used that is over: ${what}`);
      this.asked.push(what);
    };
    const response = {
      pause: ask('pause'),
      resume: ask('resume'),
      onAborted: (call: () => void) => (this.close = call),
      onData: (call: (chunk: ArrayBuffer, isLast: boolean) => void) => (this.#data = call),
    } as unknown as UwsResponse;
    const request = { getQuery: () => '', forEach: () => {} } as unknown as UwsRequest;
    this.exchange = new HttpExchange(
      {
        clock,
        limits,
        inFlight: new InFlight(clock, limits.sweepMs),
        shares: new InFlightShares(10),
        callbacks: new UwsCallbacks((error) => {
          throw error;
        }),
        trustForwardedHeaders: false,
        nextRequestId: () => 'id',
        onOver: () => {},
        onTimeout: () => {},
      },
      response,
      request,
      'POST',
      '/take',
      compiled as never,
      [],
    );
    this.exchange.detach();
    const context = { clock, limits, budget: new ByteBudget(1_000_000), turns };
    this.body = collectBody(this.exchange, context, ofBound, {
      onBody: (_, pieces) => void this.whole.push(lengthOf(pieces)),
      onBodyFailed: (_, error) => {
        throw error;
      },
    });
  }

  receive(bytes: number, isLast = false): void {
    this.#data(new ArrayBuffer(bytes), isLast);
  }
}

it('a body that is held back is read again in the next turn', () => {
  const [one, other] = [new Arriving(bound), new Arriving(bound)];
  one.receive(10);
  other.receive(TURN_BYTES);
  expect([one.asked, other.asked]).toEqual([['pause'], []]);
  nextTurn();
  expect([one.asked, other.asked]).toEqual([['pause', 'resume'], []]);
  one.receive(10, true);
  expect(one.whole).toEqual([20]);
});

it('a body that has arrived is held back no more: its connection would be closed during a long request', () => {
  const [one, other] = [new Arriving(bound), new Arriving(bound)];
  one.receive(10);
  one.receive(10, true);
  other.receive(TURN_BYTES);
  nextTurn();
  expect([one.whole, one.asked]).toEqual([[20], []]);
});

it('a body whose caller is unknown stays paused in the next turn', () => {
  const [one, other] = [new Arriving(undefined), new Arriving(bound)];
  one.receive(10);
  other.receive(TURN_BYTES);
  nextTurn();
  expect(one.asked).toEqual(['pause']);
  one.body.admit(bound);
  expect(one.asked).toEqual(['pause', 'resume']);
});

it('a body whose caller becomes known while it is held back waits for the next turn', () => {
  const [one, other] = [new Arriving(undefined), new Arriving(bound)];
  one.receive(10);
  other.receive(TURN_BYTES);
  one.body.admit(bound);
  expect(one.asked).toEqual(['pause']);
  nextTurn();
  expect(one.asked).toEqual(['pause', 'resume']);
});

it('a body that is answered while it is held back is read to its end at once', () => {
  const [one, other] = [new Arriving(bound), new Arriving(bound)];
  one.receive(10);
  other.receive(TURN_BYTES);
  one.exchange.releaseBody();
  expect(one.asked).toEqual(['pause', 'resume']);
  nextTurn();
  expect(one.asked).toEqual(['pause', 'resume']);
});

it('a connection whose request is over is not touched any more, held back or not', () => {
  const [one, two, three] = [new Arriving(bound), new Arriving(bound), new Arriving(bound)];
  const [four, other] = [new Arriving(bound), new Arriving(bound)];
  for (const body of [one, two, three, four]) body.receive(10);
  two.close();
  three.exchange.finish(200);
  other.receive(TURN_BYTES);
  one.close();
  four.exchange.finish(200);
  nextTurn();
  other.receive(TURN_BYTES);
  nextTurn();
  expect([one, two, three, four].map(({ asked }) => asked)).toEqual([['pause'], [], [], ['pause']]);
});
