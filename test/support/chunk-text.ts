/** The text of one chunk of an answer. */
export function chunkText(chunk: string | Uint8Array): string {
  return typeof chunk === 'string' ? chunk : new TextDecoder('utf-8', { fatal: true }).decode(chunk);
}

/** The text of all chunks of an answer. */
export async function textOfChunks(chunks: AsyncIterable<string | Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += chunkText(chunk);
  return text;
}
