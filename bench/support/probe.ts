import type { GroveServer } from './grove-server.ts';

/**
 * Asks once for what is about to be asked many times, so that a load of quick wrong answers is not measured.
 *
 * @returns the answer's body
 * @throws {Error} unless it is 2xx and holds `expected`
 */
export async function probe(server: GroveServer, path: string, expected: string): Promise<string> {
  const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${server.token}` } });
  const body = await response.text();
  if (!response.ok || !body.includes(expected)) {
    throw new Error(
      `GET ${path}: ${response.status}, expected an answer with ${expected}:\n${body.slice(0, 500)}\n${server.log}`,
    );
  }
  return body;
}
