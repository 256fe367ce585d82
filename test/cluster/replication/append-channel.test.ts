import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppendChannel } from '#cluster/replication/append-channel.ts';
import type { AppendOutcome } from '#cluster/replication/log-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

/** A connection whose server answers what the test says. */
class Connection {
  readonly #statuses: { readonly type: string }[] = [];
  #wake: () => void = () => {};
  /** Answers to the publications, in their order. */
  readonly answers: ((data: string) => void)[] = [];

  subscribe(_: string, { callback }: { readonly callback: (error: null, message: Msg) => void }): object {
    this.#take = (message) => callback(null, message);
    return { unsubscribe: () => {} };
  }

  #take: (message: Msg) => void = () => {};

  publish(_: string, __: Uint8Array, { reply }: { readonly reply: string }): void {
    this.answers.push((text) => {
      const data = Buffer.from(text);
      this.#take({ subject: reply, data, json: () => JSON.parse(text) as unknown } as unknown as Msg);
    });
  }

  isClosed(): boolean {
    return false;
  }

  tell(type: string): void {
    this.#statuses.push({ type });
    this.#wake();
  }

  async *status(): AsyncGenerator<{ readonly type: string }> {
    for (;;) {
      const next = this.#statuses.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

let connection: Connection;
let channel: AppendChannel;

beforeEach(() => {
  connection = new Connection();
  channel = new AppendChannel(connection as unknown as NatsConnection, new TestClock());
});

afterEach(() => channel.close());

function append(): Promise<AppendOutcome> {
  return channel.append('LOG_3', 'log.3', 6, Buffer.from('record'));
}

async function outcomeOf(answer: string): Promise<AppendOutcome> {
  const appended = append();
  connection.answers.at(-1)?.(answer);
  return appended;
}

function refusal(code: number, description: string): string {
  return JSON.stringify({ error: { err_code: code, description } });
}

describe('an append', () => {
  it('is stored at the position that its stream answers', async () => {
    expect(await outcomeOf('{"stream":"LOG_3","seq":7}')).toEqual({ kind: 'stored', sequence: 7 });
  });

  it.each([10_071, 10_164])(
    'is refused for a wrong sequence when another record exists or arrives at its position: %i',
    async (code) => {
      expect(await outcomeOf(refusal(code, 'wrong last sequence'))).toEqual({ kind: 'wrong-sequence' });
    },
  );

  it('has no room where the bound of the stream is reached, which is the same on all servers', async () => {
    const full = { kind: 'full', reason: 'maximum bytes exceeded' };
    expect(await outcomeOf(refusal(10_077, 'maximum bytes exceeded'))).toEqual(full);
  });

  it.each([10_002, 10_023, 10_028, 10_047])(
    'may be stored by others where one server refuses it for its own limits: %i',
    async (code) => {
      const unknown = { kind: 'unknown', isRefused: true };
      expect(await outcomeOf(refusal(code, 'insufficient resources'))).toMatchObject(unknown);
    },
  );

  it.each([
    ['another failure of a store', refusal(10_077, 'i/o error')],
    ['an error nobody knows', refusal(10_999, 'new')],
    ['another stream', '{"stream":"LOG_4","seq":7}'],
    ['no sequence', '{"stream":"LOG_3"}'],
    ['what cannot be read', '{"stream":'],
    ['nothing: nobody takes its subject', ''],
  ])('may be stored or not where the answer is %s', async (_, answer) => {
    const outcome = await outcomeOf(answer);
    expect([outcome.kind, 'isRefused' in outcome]).toEqual(['unknown', false]);
  });

  it('may be stored or not where the connection is lost, and is not sent without one', async () => {
    const appended = append();
    connection.tell('disconnect');
    expect(await appended).toMatchObject({ kind: 'unknown' });
    expect(await append()).toMatchObject({ kind: 'unknown', reason: 'not connected' });
    expect(connection.answers).toHaveLength(1);
    connection.tell('reconnect');
    await settle();
    expect(await outcomeOf('{"stream":"LOG_3","seq":7}')).toMatchObject({ kind: 'stored' });
  });
});
