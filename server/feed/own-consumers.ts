import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import { ProjectionConsumer } from '#runtime/projection/projection-consumer.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';

const own: readonly FeedConsumer[] = [new ProjectionConsumer(statisticsProjection)];

/** The consumers of change feeds on a member: those of the product, and others. */
export function memberConsumers(others: readonly FeedConsumer[] = []): readonly FeedConsumer[] {
  return [...own, ...others];
}
