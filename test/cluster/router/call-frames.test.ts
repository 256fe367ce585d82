import { describe, expect, it } from 'vitest';
import {
  answerFrames,
  type Call,
  CALL_VERSION,
  decodeAnswer,
  decodeCall,
  decodeFrame,
  encodeFrame,
  FRAME_BODY_BYTES_MAX,
  FrameKind,
  versionNeeded,
} from '#cluster/router/call-frames.ts';
import { PRECONDITIONS_SINCE } from '#runtime/actor/message-version.ts';
import { DatedAnswer } from '#runtime/content/dated-answer.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { callBytes } from '#test/support/call-bytes.ts';

const HEAD = '1763827200000-12';

const plain: Call = {
  version: 1,
  kind: 'query',
  actor: 'acme/site~1/main~1/branch',
  message: { type: 'ReadBranchState' },
  principal: { kind: 'system', tenant: 'acme' } as never,
};

const precondition = {
  actor: 'acme/site~1/repository',
  query: { type: 'FindBranch', name: 'main' },
  uid: '1',
};

describe('a call', () => {
  it('of the version before is taken as it was [CLU-043]', () => {
    const first =
      '{"version":1,"kind":"exists","actor":"a/b~1/c","principal":{"kind":"system","tenant":"a"}}';
    expect(atOnce(decodeCall(Buffer.from(first)))).toEqual({ ...JSON.parse(first) });
    expect(atOnce(decodeCall(callBytes(plain)))).toEqual(plain);
  });

  it('with a precondition is of the version that brought it', () => {
    const call = { ...plain, version: CALL_VERSION, precondition };
    expect(atOnce(decodeCall(callBytes(call)))).toEqual(call);
    expect(() => atOnce(decodeCall(callBytes({ ...call, version: 1 })))).toThrow(
      /version 1 to one that takes 7/,
    );
  });

  it('of no version, or of one to come, is refused', () => {
    for (const version of [undefined, 0, CALL_VERSION + 1])
      expect(() => atOnce(decodeCall(callBytes({ ...plain, version: version as number })))).toThrow(
        /nothing was done/,
      );
  });
});

describe('the version of a call', () => {
  it('is the first one unless its message needs a later one', () => {
    const admin = { kind: 'admin' } as const;
    expect(versionNeeded({ type: 'UpdateNode' }, admin)).toBe(1);
    expect(versionNeeded({ type: 'UpdateNode', since: PRECONDITIONS_SINCE }, admin)).toBe(3);
    expect(versionNeeded(undefined, admin)).toBe(1);
    for (const kind of ['identity', 'impersonating'] as const)
      expect(versionNeeded({ type: 'UpdateNode' }, { kind })).toBe(5);
  });
});

describe('a frame of an answer', () => {
  it('has the entity tag of a text once, behind the date', () => {
    const text = new JsonText('x'.repeat(FRAME_BODY_BYTES_MAX + 1), '5-0.abc1');
    for (const [answer, head] of [
      [new DatedAnswer(HEAD, text), HEAD],
      [text, undefined],
    ] as const) {
      const frames = [...answerFrames(answer)].filter((frame) => frame !== undefined).map(decodeFrame);
      expect(frames.map(({ tag }) => tag)).toEqual(['5-0.abc1', undefined]);
      expect(frames.map((frame) => frame.head)).toEqual([head, undefined]);
      expect(Buffer.concat(frames.map(({ body }) => body)).toString()).toBe(text.text);
    }
    expect(atOnce(decodeAnswer(FrameKind.text, Buffer.from('{}'), '5-0.abc1'))).toEqual(
      new JsonText('{}', '5-0.abc1'),
    );
  });

  it('without a date is what it was in the first version', () => {
    expect(encodeFrame(FrameKind.text, true, 7, Buffer.from('{}'))).toEqual(
      Buffer.from([2, 1, 0, 0, 0, 7, 0x7b, 0x7d]),
    );
    expect(decodeFrame(encodeFrame(FrameKind.value, false, 1))).not.toHaveProperty('head');
  });

  it('carries the date of an answer once, before any kind of content', () => {
    const long = new JsonText('x'.repeat(FRAME_BODY_BYTES_MAX + 1));
    for (const [answer, kind, bodies] of [
      [new JsonText('{"a":1}'), FrameKind.text, ['{"a":1}']],
      [new JsonPieces(['{"a"', ':"ü"}']), FrameKind.text, ['{"a":"ü"}']],
      [{ a: 'ü' }, FrameKind.value, ['{"a":"ü"}']],
      [undefined, FrameKind.value, ['']],
      [long, FrameKind.text, [long.text.slice(1), 'x']],
    ] as const) {
      const frames = [...answerFrames(new DatedAnswer(HEAD, answer))]
        .filter((frame) => frame !== undefined)
        .map(decodeFrame);
      expect(frames.map(({ body }) => body.toString())).toEqual(bodies);
      expect(frames.map(({ head }) => head)).toEqual(
        bodies.map((_, index) => (index === 0 ? HEAD : undefined)),
      );
      expect(frames.map((frame) => frame.kind)).toEqual(bodies.map(() => kind));
      expect(frames.map(({ isLast }) => isLast)).toEqual(
        bodies.map((_, index) => index === bodies.length - 1),
      );
    }
  });
});
