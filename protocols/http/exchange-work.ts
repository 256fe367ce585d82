import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { HttpExchange } from './exchange.ts';

/** The unit of scheduled work that reads a large body, or encodes and writes a long response. */
export function exchangeWork<Principal>(
  exchange: HttpExchange<Principal>,
  slices: SliceScheduler,
): SlicedWork {
  return slices.begin('read', {
    sliceKey: exchange.sliceKey,
    requireWaiting: () => {
      if (!exchange.isOpen) throw new ServiceError('REQUEST_CANCELLED');
    },
  });
}
