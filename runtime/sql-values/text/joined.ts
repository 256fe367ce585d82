import { requireTextLength } from './text-limit.ts';

/** Joins texts. @param what for the message @throws {ServiceError} `VALIDATION_FAILED` for a result that is too long */
export function joined(texts: readonly string[], separator: string, what: string): string {
  let length = Math.max(0, texts.length - 1) * separator.length;
  for (const text of texts) length += text.length;
  requireTextLength(length, what);
  return texts.join(separator);
}
