import { ServiceError } from '#runtime/errors/service-error.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import { recovering, type Soon } from '#runtime/base/event-loop/soon.ts';

/** The second reply if the first finds no node; if both fail, the first error is thrown. */
export function unlessMissing(first: () => Soon<HttpReply>, second: () => Soon<HttpReply>): Soon<HttpReply> {
  return recovering(first, (error) => {
    if (!isNodeMissing(error)) throw error;
    return recovering(second, (other) => {
      throw isNodeMissing(other) ? error : other;
    });
  });
}

function isNodeMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NODE_NOT_FOUND';
}
