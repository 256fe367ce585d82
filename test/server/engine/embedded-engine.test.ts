import { routerConformance } from '#test/runtime/actor/router-conformance.ts';
import { openEmbeddedRouters } from '#test/support/engines.ts';

routerConformance('a member alone', openEmbeddedRouters);
