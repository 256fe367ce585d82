import type { GroveServer } from './grove-server.ts';

/**
 * Sends a request once before the load, so that fast wrong answers are not measured.
 *
 * @returns the answer's body
 * @throws {Error} unless it is 2xx and contains `expected`
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
