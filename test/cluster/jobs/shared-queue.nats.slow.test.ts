import { queueConformance } from '#test/runtime/jobs/queue-conformance.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { SharedQueueHarness } from '#test/support/shared-queue-harness.ts';

const nats = sharedNatsCluster(3);

queueConformance('SharedQueue over three nats-servers', () => SharedQueueHarness.open(nats().urls));
