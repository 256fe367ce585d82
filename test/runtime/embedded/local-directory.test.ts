import { LocalDirectory } from '#runtime/embedded/local-directory.ts';
import { directoryConformance } from '../directory/directory-conformance.ts';

directoryConformance('of one process', async () => {
  const load = () => ({ requestsInFlight: 0, openActors: 3, pendingBytes: 0 });
  const member = { id: 'host:8080', url: 'http://127.0.0.1:8080', version: '1.2.3', load };
  return { directories: [new LocalDirectory(member)], close: async () => {} };
});
