import { routerConformance } from '#test/runtime/actor/router-conformance.ts';
import { openClusterRouters } from '#test/support/engines.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const nats = sharedNatsCluster(3);

routerConformance('three members over three servers', () => openClusterRouters(nats().urls, 3, 3));
