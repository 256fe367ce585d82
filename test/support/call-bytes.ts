import { type Call, encodeCall } from '#cluster/router/call-frames.ts';
import { callMessages } from '#cluster/router/call-parts.ts';

/** A call as one piece of bytes. */
export function callBytes(call: Call): Buffer {
  return Buffer.from([...encodeCall(call)].join(''));
}

/** The messages of a call that is there as a whole. */
export function messagesOf(call: Uint8Array): readonly Uint8Array[] {
  return [...callMessages([call])].filter((message) => message !== undefined);
}
