import { appendFileSync } from 'node:fs';
import { ARTICLES_PER_FOLDER, articleBody, folderBody, nodesUrl } from './corpus.ts';
import { type LoadRequest, sendAll } from './http-load.ts';

/** Length of an id. Ids are taken from the answers and stored one to a line, so that reads by id can choose any. */
const ID_CHARACTERS = 36;

/**
 * Creates articles number `from` to `to` with one durable request each, so that there are as many revisions as nodes.
 * Folders come first.
 *
 * @param idsFile file for the ids of the articles, one to a line
 */
export async function loadArticles(
  server: { readonly port: number; readonly token: string },
  from: number,
  to: number,
  idsFile: string,
): Promise<void> {
  await sendAll(server.port, server.token, folders(from / ARTICLES_PER_FOLDER, to / ARTICLES_PER_FOLDER));
  let ids: string[] = [];
  await sendAll(server.port, server.token, articles(from, to), (answer) => {
    const at = answer.indexOf('"id":"') + 6;
    const id = answer.slice(at, at + ID_CHARACTERS);
    if (at < 6 || answer[at + ID_CHARACTERS] !== '"') throw new Error(`no id in ${answer}`);
    if (ids.push(id) < 10_000) return;
    appendFileSync(idsFile, `${ids.join('\n')}\n`);
    ids = [];
  });
  if (ids.length > 0) appendFileSync(idsFile, `${ids.join('\n')}\n`);
}

function* folders(from: number, to: number): Generator<LoadRequest> {
  for (let number = from; number < to; number++) {
    yield { method: 'POST', path: `${nodesUrl}/`, body: folderBody(number) };
  }
}

function* articles(from: number, to: number): Generator<LoadRequest> {
  for (let number = from; number < to; number++) {
    const folder = Math.floor(number / ARTICLES_PER_FOLDER);
    const name = `n-${number % ARTICLES_PER_FOLDER}`;
    yield { method: 'POST', path: `${nodesUrl}/f-${folder}`, body: articleBody(name, number) };
  }
}

/** Creates articles number `from` to `to` as children of the root, with one durable request each. */
export async function loadRootArticles(
  server: { readonly port: number; readonly token: string },
  from: number,
  to: number,
): Promise<void> {
  const requests = function* (): Generator<LoadRequest> {
    for (let number = from; number < to; number++)
      yield { method: 'POST', path: `${nodesUrl}/`, body: articleBody(`n-${number}`, number) };
  };
  await sendAll(server.port, server.token, requests());
}
