/**
 * Fast methods of Node buffers that its type declarations leave out. One char code is one byte. Keys are binary
 * strings, so these methods run for every key that is read or written.
 */
interface Buffer {
  latin1Write(text: string, offset?: number, length?: number): number;
  latin1Slice(start?: number, end?: number): string;
  utf8Write(text: string, offset?: number, length?: number): number;
  utf8Slice(start?: number, end?: number): string;
}
