// A real OpenID Connect provider on loopback, for the tests. People sign in with their name and any password.
// Usage: node identity_provider.mjs '{"port": 0, "client": {...}, "people": {"alice": {claims}}}'
// Prints its issuer when it takes requests, and ends when its standard input does.
import { createServer } from "node:http";

const modules = new URL("../../frontend/node_modules/", import.meta.url);
const { default: Provider } = await import(new URL("oidc-provider/lib/index.js", modules));

const { client, people } = JSON.parse(process.argv[2]);
const server = createServer((request, response) => handle(request, response));
let handle = (_request, response) => response.writeHead(503).end();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [client],
  cookies: { keys: ["a key of the tests"] },
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email", "email_verified"] },
  // Into the ID token, as most providers do; the standard leaves them to another request.
  conformIdTokenClaims: false,
  features: { rpInitiatedLogout: { enabled: true } },
  findAccount: (_context, name) =>
    people[name] && { accountId: name, claims: () => ({ sub: name, ...people[name] }) },
});
handle = provider.callback();
process.stdin.resume().on("end", () => process.exit(0));
console.log(issuer);
