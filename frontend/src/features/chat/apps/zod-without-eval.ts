import { config } from "zod";

// It would try `new Function`, which the page's policy forbids and the browser reports. To be imported before schemas are.
config({ jitless: true });
