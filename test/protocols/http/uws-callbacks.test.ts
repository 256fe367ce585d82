import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { describe, expect, it } from 'vitest';
import { UwsCallbacks } from '#protocols/http/uws-callbacks.ts';
import { ask, eventually, gate, RawClient, route, start } from './http-fixture.ts';

type Registered = (...given: unknown[]) => unknown;

/** Keeps what is registered with it, as the library would, and counts how often it is closed. */
class Registrar {
  readonly registered = new Map<string, Registered>();
  closed = 0;
  readonly #keep = (name: string, call: Registered): this => {
    this.registered.set(name, call);
    return this;
  };

  onAborted = (call: Registered): this => this.#keep('onAborted', call);
  onData = (call: Registered): this => this.#keep('onData', call);
  onWritable = (call: Registered): this => this.#keep('onWritable', call);
  any = (_pattern: string, call: Registered): this => this.#keep('any', call);
  filter = (call: Registered): this => this.#keep('filter', call);
  close = (): this => {
    this.closed += 1;
    return this;
  };
}

describe('what is thrown in a function that the library calls', () => {
  it.each(['onAborted', 'onData', 'onWritable', 'any', 'filter'])(
    'closes the connection and is logged: %s',
    (name) => {
      const registrar = new Registrar();
      const response = registrar as unknown as HttpResponse;
      const told: unknown[] = [];
      const fault = new RangeError('thrown on purpose');
      const fail = (): never => {
        throw fault;
      };
      const callbacks = new UwsCallbacks((error) => void told.push(error));
      callbacks.onAborted(response, fail);
      callbacks.onData(response, fail);
      callbacks.onWritable(response, fail);
      callbacks.register(registrar as unknown as TemplatedApp, fail, fail);
      expect(registrar.registered.size).toBe(5);
      // Whoever says of `onWritable` that the peer took all is not asked again.
      expect(registrar.registered.get(name)?.(response, {} as HttpRequest)).toBe(
        name === 'onWritable' ? true : undefined,
      );
      expect([told, registrar.closed]).toEqual([[fault], 1]);
    },
  );

  it('does not end the process when the peer has gone already', async () => {
    const held = gate();
    let faults = 0;
    const { port, log, server } = await start(
      [
        route('GET', '/slow', async () => {
          await held.opened;
          return { status: 200 };
        }),
      ],
      {
        observe: ({ status }) => {
          if (status === 499) throw new RangeError('thrown on purpose');
        },
        onCallbackFault: () => {
          faults += 1;
        },
      },
    );
    const client = await RawClient.connect(port);
    client.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => server.inFlightCount === 1, 'the request is in flight');
    client.socket.destroy();
    await eventually(() => faults === 1, 'it is told');
    expect(log).toEqual([expect.objectContaining({ facts: { err: expect.any(RangeError) } })]);
    held.open();
    expect((await ask(port, '/health')).text).toBe('ok');
  });
});
