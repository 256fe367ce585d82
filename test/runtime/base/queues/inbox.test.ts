import { describe, expect, it } from 'vitest';
import { Inbox } from '#runtime/base/queues/inbox.ts';

describe('Inbox', () => {
  const open = () => new Inbox<{ bytes: number }>({ itemsMax: 2, bytesMax: 100 });

  it('wakes a waiting reader when a message arrives, and refuses a message without room', async () => {
    const inbox = open();
    const heard = inbox.heard();
    expect(inbox.push({ bytes: 1 })).toBe(true);
    await heard;
    expect(inbox.push({ bytes: 2 })).toBe(true);
    expect(inbox.push({ bytes: 3 })).toBe(false);
    expect([inbox.shift(), inbox.shift(), inbox.shift()]).toEqual([{ bytes: 1 }, { bytes: 2 }, undefined]);
  });

  it('drops what waits when it is closed, and throws the reason once', async () => {
    const inbox = open();
    const heard = inbox.heard();
    inbox.push({ bytes: 1 });
    await heard;
    const reason = new Error('over');
    inbox.close(reason);
    inbox.close(new Error('again'));
    expect(inbox.isClosed).toBe(true);
    expect(inbox.push({ bytes: 1 })).toBe(true);
    expect(() => inbox.shift()).toThrow(reason);
    expect(inbox.shift()).toBeUndefined();
  });

  it('has one consumer', () => {
    const inbox = open();
    void inbox.heard();
    expect(() => inbox.heard()).toThrow('one consumer');
  });
});
