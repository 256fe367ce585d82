import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallAssembly, callMessages } from '#cluster/router/call-parts.ts';
import { messagesOf } from '#test/support/call-bytes.ts';

const MIB = 1024 * 1024;

/** A call of so many bytes that begins as JSON does. */
function callOf(bytes: number, fill = 7): Buffer {
  const call = Buffer.alloc(bytes, fill);
  call[0] = '{'.charCodeAt(0);
  return call;
}

describe('a call in parts', () => {
  it('is reassembled among other messages, in sizes that NATS accepts', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 3 * MIB }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(sizes, fc.infiniteStream(fc.nat()), (lengths, choices) => {
        const assembly = new CallAssembly();
        const calls = lengths.map((length, index) => callOf(length, index));
        const queues = calls.map((call) => [...messagesOf(call)]);
        const whole = new Map<number, Uint8Array>();
        while (queues.some((queue) => queue.length > 0)) {
          const waiting = [...queues.keys()].filter((index) => (queues[index] as Uint8Array[]).length > 0);
          const index = waiting[(choices.next().value as number) % waiting.length] as number;
          const message = queues[index]?.shift() as Uint8Array;
          expect(message.length).toBeLessThan(MIB);
          const call = assembly.take(`reply ${index}`, message, 0);
          if (call !== undefined) whole.set(index, call);
        }
        for (const [index, call] of calls.entries())
          expect(call.equals(whole.get(index) as Uint8Array)).toBe(true);
        expect(assembly.bytes).toBe(0);
      }),
      { numRuns: 20 },
    );
  });

  it('is put together of pieces of any size as of one, and the work may rest at each', () => {
    const call = callOf(2 * MIB + 17);
    const pieces = Array.from({ length: 40 }, (_, index) =>
      call.subarray((index * call.length) / 40, ((index + 1) * call.length) / 40),
    );
    const steps = [...callMessages(pieces)];
    expect(steps.filter((message) => message !== undefined)).toEqual(messagesOf(call));
    expect(steps.filter((message) => message === undefined)).toHaveLength(40);
    // A call that ends with a part has no empty one behind it.
    expect(messagesOf(callOf(MIB))).toHaveLength(2);
    expect(messagesOf(callOf(0 + 1))).toEqual([callOf(1)]);
  });

  it('is dropped when any part is missing, and is complete when it is sent again', () => {
    const call = callOf(3 * MIB);
    const messages = messagesOf(call);
    for (const lost of messages.keys()) {
      const assembly = new CallAssembly();
      const rest = messages.filter((_message, index) => index !== lost);
      for (const message of rest) expect(assembly.take('first', message, 0)).toBeUndefined();
      expect(assembly.isComing('first')).toBe(lost === messages.length - 1);
      const again = messages.map((message) => assembly.take('second', message, 0));
      expect(call.equals(again.at(-1) as Uint8Array)).toBe(true);
    }
  });

  it('is refused once when it is too large, and its remaining parts are dropped', () => {
    const assembly = new CallAssembly();
    const messages = messagesOf(callOf(129 * MIB));
    let refusals = 0;
    for (const message of messages) {
      try {
        expect(assembly.take('reply', message, 0)).toBeUndefined();
      } catch (error) {
        expect(error).toMatchObject({ code: 'COMMIT_TOO_LARGE' });
        refusals += 1;
      }
    }
    expect([refusals, assembly.bytes]).toEqual([1, 0]);
  });

  it('is forgotten when its caller is gone', () => {
    const assembly = new CallAssembly();
    const [first] = messagesOf(callOf(MIB));
    assembly.take('gone', first as Uint8Array, 0);
    expect(assembly.bytes).toBeGreaterThan(0);
    const messages = messagesOf(callOf(MIB));
    const calls = messages.map((message) => assembly.take('other', message, 60_000));
    expect(calls.at(-1)?.length).toBe(MIB);
    expect(assembly.bytes).toBe(0);
  });
});
