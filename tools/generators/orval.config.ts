import { defineConfig } from "orval";

export default defineConfig({
	weir: { input: { target: "./openapi.json" }, output: { target: "./gen/orval/weir.ts", client: "fetch", mode: "single" } },
});
