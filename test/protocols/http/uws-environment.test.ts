import { expect, it } from 'vitest';
import { requestHeadProblem } from '#protocols/http/uws-environment.ts';

it('accepts limits of request heads that ordinary requests fit', () => {
  for (const limit of ['8192', '16384', '65536']) expect(requestHeadProblem(limit)).toBeUndefined();
});

it('refuses limits that the library would read as another number, or that no ordinary request fits', () => {
  for (const limit of ['', ' ', '0', '10', '8191', '65537', '-16384', '16384x', '1e5', '16 KiB', 'many'])
    expect(requestHeadProblem(limit)).toBe(
      `UWS_HTTP_MAX_HEADERS_SIZE must be a whole number from 8192 to 65536 (bytes of a request head), not '${limit}': unset it for 16384`,
    );
});
